"""alibi: counterfactuals guided by prototypes. Runs in an environment that has `alibi` and TensorFlow 2.14."""

import logging

import numpy as np
import tensorflow as tf
from alibi.explainers import CounterfactualProto
from exchange import Explain, Settings, Task, answer, one_by_one


def made(task: Task, theta: float) -> Explain:
    """The settings of its documented example for tables, with or without the pull of the prototype."""
    d, n = task.inner_weights.shape
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Input((d,)), layers.Dense(n, activation="relu"), layers.Dense(2, activation="softmax")]
    )
    # A softmax over (0, z) is the sigmoid of z.
    outer = np.hstack([np.zeros_like(task.outer_weights), task.outer_weights])
    model.set_weights([task.inner_weights, task.inner_bias, outer, np.append(np.zeros(1), task.outer_bias)])
    explainer = CounterfactualProto(
        model,
        (1, d),
        use_kdtree=True,
        theta=theta,
        max_iterations=1000,
        c_init=1.0,
        c_steps=10,
        feature_range=(task.X.min(axis=0, keepdims=True), task.X.max(axis=0, keepdims=True)),
    )
    explainer.fit(task.X.astype(np.float32))

    def explain(row: np.ndarray) -> np.ndarray | None:
        found = explainer.explain(row[None].astype(np.float32))
        if not found.cf:
            return None
        point = np.asarray(found.cf["X"], float)[0]
        return point if task.logits(point[None])[0] > 0 else None

    return one_by_one(explain)


PULLED: Settings = {"the documented example (theta 10, 10 x 1,000 steps)": {"theta": 10.0}}
PLAIN: Settings = {"the same with theta 0": {"theta": 0.0}}


if __name__ == "__main__":
    tf.compat.v1.disable_v2_behavior()
    logging.getLogger("alibi").setLevel(logging.ERROR)
    answer({"prototypes": (made, PULLED), "no prototype": (made, PLAIN)})
