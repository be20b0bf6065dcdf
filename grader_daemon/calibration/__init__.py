"""Labelled sessions to a probability of completion that holds, and how far it agrees with people.

`prior` learns what holds in many places, `update` what holds in one, `fit` does the sums; `agreement` says
how good a probability or a verdict is, `crossvalidation` what a prior is worth elsewhere, `evaluation` whether labels
make it better, and `training` what is adopted. All of it is exact and deterministic: the same labels give the same
model.
"""
