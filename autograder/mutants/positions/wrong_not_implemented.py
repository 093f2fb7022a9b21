# misconception: none
import torch


def one_hot_positions(T):
    raise NotImplementedError()


def sine_positions(T, d):
    raise NotImplementedError()
