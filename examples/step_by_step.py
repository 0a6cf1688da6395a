"""
The two searches, step by step
==============================

How the two searches work, step by step, on two features.

Run: ``python examples/step_by_step.py [FOLDER]`` (some seconds). Writes growing_spheres_steps.png and
frontier_steps.png. Nothing is staged: the real searches run, and recorders keep what they ask.
"""

import sys
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from sklearn.datasets import make_moons
from sklearn.neural_network import MLPClassifier

import betarce as brce
from betarce.paper.figures.step_pictures import (
    Scene,
    candidate_kinds,
    draw_ladder,
    draw_shells,
)
from betarce.paper.figures.steps import (
    RecordedDepth,
    RecordedPredicate,
    climb_frame,
    ladder_frame,
    path_frame,
    shells_frame,
)
from betarce.plotting.sheet import save_png
from betarce.robustify.goal import MembersGoal, margin_scales
from betarce.search import Task
from betarce.targets import accepted

ORIGINAL = np.array([[-0.8, 0.5]])
RADIUS = 0.2
SEED = 31  # with this radius: five shells, which fit in the picture

# %%
# 1. Two moons, a small network, and members on bootstrapped rows: some to search with, others to certify with.
X, y = make_moons(160, noise=0.25, random_state=1)
model = MLPClassifier((12,), solver="lbfgs", alpha=0.3, max_iter=300, random_state=0)
rce = brce.BetaRCE(model, delta=0.8, confidence=0.9, random_state=0, verbose=-1).fit(
    X, y
)
members, voters, features = rce.members_.search, rce.members_.certifying, rce.features_
quorum = rce.guarantee_.quorum(len(members))
target = accepted(1, rce.classes_, 1)
base = np.array([rce.explain(ORIGINAL, target=1)[0].base])

# %%
# 2. What all panels show.
low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
xs, ys = (np.linspace(low[j], high[j], 160) for j in (0, 1))
grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
scene = Scene(
    points=X,
    in_target=y == 1,
    xs=xs,
    ys=ys,
    margins=rce.problem_.model.margins(grid, 1).reshape(len(ys), len(xs)),
    n_agree=members.votes(grid, 1).reshape(len(ys), len(xs)),
    n_models=len(members),
    quorum=quorum,
    original=ORIGINAL[0],
    base=base[0],
    scale=features.scale,
)

# %%
# 3. The paper's search, few candidates a shell so that each can be seen.
task = Task(base, features, features.box(base), seeds=[SEED])
goal = MembersGoal(
    rce.problem_,
    members,
    target,
    quorum=quorum,
    scales=margin_scales(rce.problem_, members),
)
sought = RecordedPredicate(goal.is_robust)
spheres = brce.GrowingSpheresSearch(initial_radius=RADIUS, n_candidates=10)
found = spheres.find(task, sought)
candidates = sought.frame()
valid = rce.problem_.is_target(
    candidates[["x1", "x2"]].to_numpy(), np.repeat(target, len(candidates), axis=0)
)
candidates["kind"] = candidate_kinds(candidates["hit"], valid)
shells = shells_frame(candidates, initial_radius=RADIUS)
print(shells.to_string(index=False))
print(
    f"{voters.votes(found.points, 1)[0]} of {len(voters)} fresh members agree with what was found.\n"
)

# %%
# 4. The frontier: climb, place rungs, move them closer; then the certifying members walk down.
#    (`rce.explain` also puts training rows on top of the ladder, as its safest rungs.)
depth = RecordedDepth(goal)
ladders = brce.FrontierSearch().climb(task, depth)
rungs = ladders.points[0, ladders.exists[0]]
climb = climb_frame(depth.frame())
voter_quorum = rce.guarantee_.quorum(len(voters))
ladder = ladder_frame(ladders, voters.votes(rungs, 1), quorum=voter_quorum)
print(ladder.round(3).to_string(index=False), "\n")

# %%
# 5. The pictures.
out = (
    Path(sys.argv[1])
    if __name__ == "__main__" and len(sys.argv) == 2
    else Path(mkdtemp(prefix="betarce-steps-"))
)
out.mkdir(parents=True, exist_ok=True)
pictures = {
    "growing_spheres_steps": draw_shells(scene, candidates, shells, found.points[0]),
    "frontier_steps": draw_ladder(
        scene, climb, path_frame(climb), ladder, voter_quorum
    ),
}
for name, figure in pictures.items():
    print(f"Wrote {save_png(figure, out / f'{name}.png')}")

# sphinx_gallery_thumbnail_path = 'figures/frontier_steps.png'
