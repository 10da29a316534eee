// SPDX-License-Identifier: Apache-2.0

// Package hook calls the webhooks of rollouts. It knows what is sent, and which answers let a rollout pass, which reject it, and
// which have the call made again. When a hook is called, and what follows from its answer, is decided elsewhere.
//
// A call is a POST or PUT with a JSON body: the name and namespace of the rollout, its phase, and the metadata of the hook.
// A GET has no body, and its URL is called as it stands. The header Idempotency-Key is the same for each delivery of a call, as
// a quoted string, so that a receiver can tell a repeated delivery from a new call.
//
// An answer passes when its status is expected: 200 to 299 by default. Of the others, 408, 425, 429 and 500 to 599 have the
// call made again, as does no answer at all, for as long as it takes, waiting as Retry-After asks but at most 5 minutes. Any
// other answer is a rejection. So are a redirect that is not followed, and a URL that must not be called.
package hook
