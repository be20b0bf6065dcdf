"""Labelled sessions to a calibrated probability that a task is done, and its agreement with people.

`prior` learns what holds in many places, `update` what holds in one, `fit` does the sums; `agreement` says
how good a probability or a verdict is, `crossvalidation` what a prior is worth elsewhere, `evaluation` whether labels
make it better, and `training` what is adopted. All of it is exact and deterministic: the same labels give the same
model.
"""
