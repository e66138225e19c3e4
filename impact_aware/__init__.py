"""Impact-aware manipulation: detect, predict, generate references for, and control through impacts."""
