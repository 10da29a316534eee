// SPDX-License-Identifier: Apache-2.0

// Package rollouts shows rollouts to people: what is rolled out, each batch as a row, what is waited for and since when, and what to
// type next.
//
// It goes by the spec and the status of the RolloutTrait or AppRollout alone, and by the arithmetic of the engine. All but Kind and AppKind is pure.
package rollouts
