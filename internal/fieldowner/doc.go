// SPDX-License-Identifier: Apache-2.0

// Package fieldowner knows who has written which field of an object, by its managedFields. It is pure.
package fieldowner
