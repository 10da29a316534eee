// SPDX-License-Identifier: Apache-2.0

// Package chronicle tells a story of rollouts, RolloutTraits and AppRollouts alike, from the history of the API and from what people did:
// one line for each change. What is worth a line is for those to say whose story it is.
package chronicle
