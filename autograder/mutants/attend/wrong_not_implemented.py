# misconception: none
import torch


def attend(query, states):
    raise NotImplementedError()
