// SPDX-License-Identifier: Apache-2.0

// Command states draws the states of a rollout from the engine's own table. It writes them in the language of graphviz;
// svg.mjs makes a picture of that.
package main
