// Package qdranttest starts a server with Qdrant's interface and Qdrant's own engine for tests, or names the one that the
// environment gives.
//
// The server is a Python program: the engine comes as a Python package. It needs the virtual environment that make venv
// makes in build/venv. It is the engine that stores, filters and scores; what the program adds, collections, aliases and
// strict mode, is ours, so that of those the tests show only that both sides agree.
package qdranttest
