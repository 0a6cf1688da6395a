"""The local server without a socket: who may ask, what is answered, and that nothing personal leaks."""

import json
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from betarce.ledger import Ledger
from betarce.results.page.texts import english
from betarce.web.application import application
from betarce.web.desk import Desk
from betarce.web.guard import MOST_BYTES, host_check
from betarce.web.records import Records
from loan_desk import loan_explainer, loan_table, rejected_rows

httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")

TOKEN = "a-token-that-nobody-knows"
HOST = "127.0.0.1:8377"


@pytest.fixture(scope="module")
def rce():
    return loan_explainer()


@pytest.fixture(scope="module")
def rejected():
    return rejected_rows()


@pytest.fixture(scope="module")
def desk(rce, rejected):
    return Desk(rce, rejected)


@pytest.fixture(scope="module")
def client(desk):
    return client_of(application(lambda: desk, english(), token=TOKEN, knows_host=host_check("127.0.0.1", 8377)))


class Client:
    """Asks an application without a socket."""

    def __init__(self, app):
        self._app = app

    def request(self, method, path, **parts):
        async def ask():
            transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}/{TOKEN}/") as client:
                return await client.request(method, path, **parts)

        return anyio.run(ask)

    def get(self, path, **parts):
        return self.request("GET", path, **parts)

    def post(self, path, **parts):
        return self.request("POST", path, **parts)


def client_of(app):
    return Client(app)


def question(client, **parts):
    state = client.get("api/state").json()
    row = client.get("api/row/0").json()
    return {"run": state["run"], "values": row["values"], "target": 0, "wishes": [], **parts}


# Who may ask


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", f"/{TOKEN}/", {}, 200),
        ("GET", f"/{TOKEN}x/", {}, 403),
        ("GET", f"/{TOKEN[:-1]}/", {}, 403),
        ("GET", "/", {}, 403),
        ("GET", "/api/state", {}, 403),
        ("GET", "/%F0%9F%98%80/", {}, 403),
        ("GET", f"/{TOKEN}/", {"host": "evil.example:8377"}, 421),
        ("GET", f"/{TOKEN}/", {"host": "127.0.0.1:80"}, 421),
        ("GET", f"/{TOKEN}/api/state", {"origin": "http://evil.example"}, 403),
        ("GET", f"/{TOKEN}/api/state", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", f"/{TOKEN}/", {"sec-fetch-site": "cross-site"}, 200),
        ("POST", f"/{TOKEN}/api/ask", {"origin": "null", "content-type": "application/json"}, 403),
        ("POST", f"/{TOKEN}/api/ask", {"content-type": "text/plain"}, 415),
        ("DELETE", f"/{TOKEN}/", {}, 405),
        ("GET", f"/{TOKEN}/nothing", {}, 404),
        ("GET", f"/{TOKEN}/assets/../desk.py", {}, 404),
        ("GET", f"/{TOKEN}/assets/..%2Fdesk.py", {}, 404),
        ("GET", f"/{TOKEN}/api/ask", {}, 405),
        ("GET", f"/{TOKEN}/api/promises", {}, 404),
    ],
)
def test_only_who_has_the_token_and_comes_from_the_page_may_ask(client, method, path, headers, status):
    answer = client.request(method, f"http://{HOST}{path}", headers=headers, content=b"" if method == "POST" else None)
    assert answer.status_code == status


def test_every_answer_keeps_other_pages_out(client):
    for path in ("", "api/state", "assets/desk.js", "nothing", "http://127.0.0.1:8377/wrong/"):
        headers = client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"


def test_the_page_has_no_script_of_its_own_in_it(client):
    html = client.get("").text
    assert "<script>" not in html
    assert html.count("<script") == 1
    assert "style=" not in html
    assert TOKEN not in html


def test_a_request_that_is_too_large_is_refused(client):
    answer = client.post("api/ask", content=b"x" * (MOST_BYTES + 1), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert answer.json()["error"] == "large"


# What is answered


def test_the_state_describes_the_columns(client):
    state = client.get("api/state").json()
    assert [column["title"] for column in state["columns"]] == ["income", "debt", "home", "term", "score", "share"]
    assert state["columns"][2]["levels"] == ["family", "own", "rent"]
    assert [column["derived"] for column in state["columns"]] == [False] * 5 + [True]
    assert state["rows"] == [f"Person {i}" for i in range(4)]
    assert state["classes"] == ["approved", "rejected"]


def test_a_picked_row_has_its_values_and_its_class(client, rejected):
    row = client.get("api/row/0").json()
    assert row["values"][0] == rejected["income"].iloc[0]
    assert row["class"] == 1
    assert client.get("api/row/99").status_code == 404
    unreadable = client.get("api/row/3").json()
    assert unreadable["error"] == "unreadable"
    assert "castle" in unreadable["details"]["text"]


def test_an_answer_is_that_of_explain(client, rce, rejected):
    found = client.post("api/ask", json=question(client)).json()
    [item] = rce.explain(rejected[:1].astype({"home": loan_table()["home"].dtype}), target="approved")
    [person] = found["people"]
    assert person["status"] == item.status == "certified"
    assert person["vote"]["agree"] == item.certificate.n_agree
    assert person["vote"]["point"] == item.certificate.point
    assert found["class"] == 1
    assert found["robust"][0] == pytest.approx(item.points["robust"][0])


def changed(person):
    return {j for j, *_ in person["options"][person["answer"]]["changes"]}


@pytest.mark.slow
def test_wishes_are_kept(client):
    [free] = client.post("api/ask", json=question(client)).json()["people"]
    for j in changed(free) - {5}:
        wishes = [{"column": j, "kind": "keep"}]
        [person] = client.post("api/ask", json=question(client, wishes=wishes)).json()["people"]
        assert person["answer"] is None or j not in changed(person)
    narrow = {"column": 0, "kind": "between", "low": 0, "high": 60}
    found = client.post("api/ask", json=question(client, wishes=[narrow])).json()
    assert found["robust"] is None or found["robust"][0] <= 60
    only = {"column": 2, "kind": "only", "levels": [0, 2]}
    found = client.post("api/ask", json=question(client, wishes=[only])).json()
    assert found["robust"] is None or found["robust"][2] in (0, 2)


def test_wishes_never_loosen_the_rules_of_the_run(client):
    values = question(client)["values"]
    wishes = [{"column": 1, "kind": "between", "low": 0, "high": 1000}, {"column": 3, "kind": "up"}]
    found = client.post("api/ask", json=question(client, wishes=wishes)).json()
    robust = found["robust"]
    assert robust is None or (robust[1] <= values[1] and robust[3] in (12, 24, 36))
    contradiction = [{"column": 1, "kind": "between", "low": 1000, "high": 2000}]
    [person] = client.post("api/ask", json=question(client, wishes=contradiction)).json()["people"]
    assert person["status"] == "infeasible"


@pytest.mark.slow
def test_other_options_leave_one_change_out_each(client):
    [free] = client.post("api/ask", json=question(client)).json()["people"]
    without = sorted(changed(free) - {5})
    people = client.post("api/options", json=question(client, without=without)).json()["people"]
    assert len(people) == len(without)
    for j, person in zip(without, people, strict=True):
        assert person["answer"] is None or j not in changed(person)


def test_the_verdict_on_typed_values_is_that_of_certify(client, rce):
    robust = client.post("api/ask", json=question(client)).json()["robust"]
    verdict = client.post("api/verdict", json=question(client, values=robust)).json()
    assert verdict["certified"] is True
    assert verdict["n_models"] == 46
    own = client.post("api/verdict", json=question(client)).json()
    assert own["certified"] is False
    assert own["model_agrees"] is False


def test_derived_values_are_computed_whatever_was_typed(client):
    values = [*question(client)["values"][:5], 77.0]
    found = client.post("api/verdict", json=question(client, values=values))
    assert found.status_code == 200


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"run": "another"}, "other_run"),
        ({"values": []}, "malformed"),
        ({"values": "x"}, "malformed"),
        ({"values": [1, 2, 0, 12, None, None]}, "missing"),
        ({"values": [None, 2, 0, 12, None, 0.5]}, "missing"),
        ({"values": ["x", 2, 0, 12, None, 0.5]}, "number"),
        ({"values": [1e300, 2, 0, 12, None, 0.5]}, "number"),
        ({"values": [True, 2, 0, 12, None, 0.5]}, "number"),
        ({"values": [10.0, 2.5, 0, 12, None, 0.5]}, "value"),
        ({"values": [10.0, 2, 9, 12, None, 0.5]}, "name"),
        ({"values": [10.0, 2, 0.5, 12, None, 0.5]}, "name"),
        ({"target": 7}, "target"),
        ({"target": []}, "target"),
        ({"target": [0, 1]}, "target"),
        ({"target": "approved"}, "target"),
        ({"wishes": [{"column": 99, "kind": "keep"}]}, "malformed"),
        ({"wishes": [{"column": 0, "kind": "dance"}]}, "malformed"),
        ({"wishes": [{"column": 2, "kind": "up"}]}, "wish"),
        ({"wishes": [{"column": 0, "kind": "between", "low": 5, "high": 1}]}, "wish"),
        ({"wishes": [{"column": 0, "kind": "only", "levels": [1]}]}, "wish"),
        ({"wishes": [{"column": 2, "kind": "only", "levels": []}]}, "wish"),
        ({"wishes": [{"column": 0, "kind": "keep"}] * 2}, "malformed"),
        ({"surprise": 1}, "malformed"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_with_the_reason(client, parts, error):
    answer = client.post("api/ask", json=question(client, **parts))
    assert answer.status_code in (400, 409)
    assert answer.json()["error"] == error
    assert english()["errors"][error]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"a": NaN}', b"[" * 10_000, b'{"a":1,"a":2}'])
def test_a_question_that_is_no_json_is_refused(client, content):
    answer = client.post("api/ask", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
VALUES = st.lists(JSON | st.floats(-1e6, 1e6) | st.integers(-5, 60), min_size=6, max_size=6)
WISHES = st.lists(
    st.fixed_dictionaries(
        {"column": st.integers(-1, 7), "kind": st.sampled_from(["keep", "up", "down", "between", "only", "x"])},
        optional={"low": JSON, "high": JSON, "levels": JSON},
    ),
    max_size=3,
)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(["ask", "options", "verdict"]),
    parts=st.fixed_dictionaries(
        {}, optional={"values": VALUES | JSON, "target": JSON, "wishes": WISHES, "without": JSON}
    ),
)
def test_no_question_breaks_the_server(client, path, parts):
    content = json.dumps(question(client) | parts, allow_nan=True).encode("utf-8", "surrogatepass")
    answer = client.post(f"api/{path}", content=content, headers={"content-type": "application/json"})
    assert answer.status_code in (200, 400, 409, 413), answer.text
    assert answer.status_code == 200 or answer.json()["error"] in english()["errors"]


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=30))
def test_no_address_breaks_the_server(client, path):
    quoted = "".join(f"%{byte:02X}" for byte in path.encode("utf-8", "replace"))
    for place in ("", "api/row/", "assets/", "api/promise/"):
        assert client.get(f"http://{HOST}/{TOKEN}/{place}{quoted}").status_code < 500


def test_questions_asked_at_once_get_the_answers_that_they_get_alone(desk, client):
    asked = [question(client, wishes=[{"column": j, "kind": "keep"}]) for j in range(3)]
    alone = [desk.ask(each) for each in asked]
    with ThreadPoolExecutor(3) as users:
        assert list(users.map(desk.ask, asked)) == alone


def test_a_bug_says_where_it_is_and_not_what_was_asked(desk, capsys):
    class Broken(Desk):
        def __init__(self, desk):
            self.__dict__ = dict(desk.__dict__)

        def ask(self, data):
            raise RuntimeError(f"secret {data}")

    broken = client_of(
        application(lambda: Broken(desk), english(), token=TOKEN, knows_host=host_check("127.0.0.1", 8377))
    )
    answer = broken.post("api/ask", json={"a": "personal"})
    assert answer.status_code == 500
    assert answer.json() == {"error": "bug", "details": {}}
    said = capsys.readouterr()
    assert "Internal error: RuntimeError in ask" in said.err
    assert "personal" not in said.err + said.out
    assert "/" not in said.err


def test_answers_hold_no_path_of_the_machine(client):
    for path in ("", "api/state", "api/row/0", "nothing"):
        assert "/home/" not in client.get(path).text
        assert "site-packages" not in client.get(path).text


# Promises on record


@pytest.fixture(scope="module")
def recorded(desk, rce, rejected, tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "promises.db"
    result = rce.explain(rejected[:3].astype({"home": loan_table()["home"].dtype}), target="approved")
    with Ledger(path) as ledger:
        names = ledger.record(result, cohort="spring")
        ledger.withdraw(names[0], reason="asked for")
    knows = host_check("127.0.0.1", 8377)
    return client_of(
        application(lambda: desk, english(), token=TOKEN, knows_host=knows, promises=lambda: Records(path))
    ), names


def test_promises_are_listed_the_latest_first(recorded):
    client, names = recorded
    found = client.get("api/promises").json()
    assert found["n"] == 3
    assert [promise["id"] for promise in found["promises"]] == names[::-1]
    assert found["states"] == {"issued": 2, "withdrawn": 1}
    assert found["promises"][0]["cohort"] == "spring"
    assert client.get("api/promises?from=2").json()["promises"][0]["id"] == names[0]
    assert client.get("api/promises?from=x").json()["error"] == "malformed"


def test_a_promise_says_what_happened_to_it(recorded):
    client, names = recorded
    found = client.get(f"api/promise/{names[0]}").json()
    assert [event["kind"] for event in found["events"]] == ["issued", "withdrawn"]
    assert found["events"][1]["remark"] == "asked for"
    assert client.get("api/promise/unknown").json()["error"] == "promise"


@pytest.mark.slow
def test_questions_do_not_pile_up_memory(client):
    import tracemalloc

    asked = question(client)
    for _ in range(10):
        client.post("api/ask", json=asked)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for k in range(60):
        asked["values"][0] = 20 + k / 2
        assert client.post("api/ask", json=asked).status_code == 200
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1_000_000
