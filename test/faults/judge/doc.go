// SPDX-License-Identifier: Apache-2.0

// Package judge says which promises about releases were broken, from what the API server wrote down.
//
// It plays the audit log of one namespace again, write by write in the order of versions, and looks at each write of the
// controllers in the state of the world at that moment: was it allowed by the spec? It shares no code with the
// controllers, on purpose, and knows the API types only.
//
// A controller cannot know what others did an instant ago. So a spec counts from its write on, and the one before it as
// long as the status does not say that the newer one was observed; and a pod that others have taken out of service
// counts as available for Options.Lag.
//
// The log does not tell what became of a write whose client was killed before its answer. Where a watch saw the effect, the
// write is judged by that.
package judge
