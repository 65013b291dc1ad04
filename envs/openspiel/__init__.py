"""OpenSpiel's games as batches: stepped in C++, shown without copies."""
