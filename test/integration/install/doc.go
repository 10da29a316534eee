// SPDX-License-Identifier: Apache-2.0

// Package install proves config/install.yaml: a real API server takes it, twice, the manager's pods are allowed where it
// puts them, the role that it gives the manager is enough for the work and no more, and sets can be protected from being
// deleted.
package install
