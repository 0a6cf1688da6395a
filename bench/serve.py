"""The local server: how soon it answers, how long "what if" takes with five users, and whether memory grows.

``python bench/serve.py`` fits LightGBM on 20 mixed columns with the default members, stores the run, and serves it.
"""

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd

import betarce as brce

USERS, QUESTIONS, SECONDS, RATE = 5, 30, 20, 50


def main() -> None:
    """Measure, and print one line per figure."""
    with tempfile.TemporaryDirectory() as folder:
        rejected = fitted_run(Path(folder))
        command = [sys.executable, "-m", "betarce", "serve", f"{folder}/run", "--rows", str(rejected), "--port", "0"]
        started = time.perf_counter()
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            url = re.search(r"http://\S+", first_address(server))[0]  # type: ignore[index]
            get(url)
            print(f"start to page: {time.perf_counter() - started:.1f} s")
            state = json.loads(get(f"{url}api/state"))
            print(f"start to first answer: {time.perf_counter() - started:.1f} s")
            asked = [json.loads(get(f"{url}api/row/{i}"))["values"] for i in range(20)]
            what_if(url, state["run"], asked)
            load(url, state["run"], asked, server.pid)
        finally:
            server.terminate()
            server.wait()


def fitted_run(folder: Path) -> Path:
    """Fit and store a run, and write the rows to ask about."""
    import lightgbm

    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"amount {i}": rng.normal(size=1000).round(2) for i in range(12)})
    X = X.assign(**{f"count {i}": rng.integers(0, 50, 1000) for i in range(4)})
    X = X.assign(**{f"kind {i}": pd.Categorical(rng.choice(["own", "rent", "free"], 1000)) for i in range(4)})
    score = X["amount 0"] + 0.7 * X["amount 1"] - 0.5 * X["amount 2"] + X["count 0"] / 25 + (X["kind 0"] == "own")
    y = np.where(score + rng.normal(size=1000) / 2 > 1.4, "approved", "rejected")
    model = lightgbm.LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1)
    rce = brce.BetaRCE(model, random_state=0, n_jobs=2, verbose=-1).fit(X, y)
    rce.save(folder / "run")
    X[rce.model_.predict(X) == "rejected"][:20].to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def first_address(server: "subprocess.Popen[str]") -> str:
    """Wait for the line that says where the page is."""
    assert server.stderr is not None
    return next(line for line in server.stderr if "http://" in line)


def get(url: str) -> bytes:
    """Read an address."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        return bytes(answer.read())


def ask(url: str, run: str, values: list[object], lock: int) -> tuple[int, float]:
    """Ask what if one column stays as it is; give the status and the milliseconds."""
    wishes = [{"column": lock, "kind": "keep"}]
    body = json.dumps({"run": run, "values": values, "target": 0, "wishes": wishes}).encode()
    request = urllib.request.Request(f"{url}api/ask", body, {"content-type": "application/json"})
    started = time.perf_counter()
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
    return status, 1000 * (time.perf_counter() - started)


def what_if(url: str, run: str, asked: list[list[object]]) -> None:
    """Let five users ask one question after the other."""
    for users in (1, USERS):
        times: list[float] = []

        def user(k: int, times: list[float] = times) -> None:
            for i in range(QUESTIONS):
                times.append(ask(url, run, asked[(k + i) % len(asked)], (k * 7 + i) % 20)[1])

        together(user, users)
        median, late = np.percentile(times, [50, 95])
        print(f"what if, {users} at once: median {median:.0f} ms, p95 {late:.0f} ms")


def load(url: str, run: str, asked: list[list[object]], pid: int) -> None:
    """Send fifty questions a second, whatever comes back, and watch the memory."""
    before, statuses, threads = resident(pid), [], []
    started = time.perf_counter()
    for i in range(SECONDS * RATE):
        time.sleep(max(0.0, started + i / RATE - time.perf_counter()))
        work = lambda i=i: statuses.append(ask(url, run, asked[i % len(asked)], i % 20)[0])  # noqa: E731
        threads.append(threading.Thread(target=work))
        threads[-1].start()
    for thread in threads:
        thread.join()
    counts = {status: statuses.count(status) for status in sorted(set(statuses))}
    print(f"{RATE} questions a second for {SECONDS} s: {counts}; memory {before:.0f} -> {resident(pid):.0f} MB")


def together(work: object, n: int) -> None:
    """Run something in several threads."""
    threads = [threading.Thread(target=work, args=(k,)) for k in range(n)]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def resident(pid: int) -> float:
    """Give the megabytes that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    main()
