// SPDX-License-Identifier: Apache-2.0

// Package lint checks RolloutTraits, AppRollouts, rolloutPlans of Applications and MetricTemplates as they are written, without a
// cluster: that fields exist and hold what the API allows, that batches add up, and that queries can be filled in.
//
// The rules are those of the CustomResourceDefinitions, and of the packages that the engine itself asks. It is pure but for the
// file that it is given to read.
package lint
