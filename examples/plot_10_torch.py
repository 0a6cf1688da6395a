"""
A torch network
===============

Networks that torch has trained are read into arrays and evaluated together, without torch. Here 80 of them, each with
another seed and other rows, are the models that may follow.
"""

import numpy as np
import torch

import betarce as brce

torch.manual_seed(0)
torch.set_num_threads(1)  # the networks are small
loans = brce.datasets.load_loan(n=700).numeric()
table = loans.X[["income", "debt", "savings", "loan_amount", "late_payments"]].astype(
    "float32"
)
table = (table - table.min()) / (table.max() - table.min())
train, y, applicants = (
    table[:500],
    np.asarray(loans.y[:500], dtype="float32"),
    table[500:],
)


# %%
# Train as always with torch.
def trained(rows):
    """Train a small network on some rows, and read it."""
    X, labels = torch.from_numpy(train.to_numpy()[rows]), torch.from_numpy(y[rows])
    module = torch.nn.Sequential(
        torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
    )
    optimiser = torch.optim.Adam(module.parameters(), lr=0.03)
    for _ in range(40):
        optimiser.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(
            module(X)[:, 0], labels
        ).backward()
        optimiser.step()
    return brce.models.network_from_torch(
        module, classes=[0, 1], feature_names=list(train.columns)
    )


rng = np.random.default_rng(0)
model = trained(np.arange(len(train)))
siblings = [trained(rng.integers(len(train), size=len(train))) for _ in range(80)]

# %%
# ``Given`` takes models that exist, and assigns each to one role.
rce = brce.BetaRCE(
    model,
    space=brce.Given(siblings),
    n_models=(20, 60),
    delta=0.9,
    confidence=0.9,
    random_state=0,
)
rce.fit(train, loans.y[:500])
rejected = applicants[rce.model_.predict(applicants) == 0][:10]
result = rce.explain(rejected, target=1)
print(result)

# %%
result.plot_votes()
