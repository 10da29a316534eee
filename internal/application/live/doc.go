// SPDX-License-Identifier: Apache-2.0

// Package live reads what an application has deployed as it stands in the cluster. It reads only, and not from a cache.
package live
