// SPDX-License-Identifier: Apache-2.0

// Package rolloutcli has the commands of rollouts write to a real API server: what they write passes its rules, also those for
// changes of a rollout that is on its way. No controller runs; the test reports what one would. For plans the controllers run in a
// namespace of their own: what was foretold is compared with what they do.
package rolloutcli
