// SPDX-License-Identifier: Apache-2.0

// Package whoami is what a container of the test images says of itself. The server writes it and tests read it; it
// knows nothing of either.
package whoami
