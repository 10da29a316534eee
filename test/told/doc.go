// SPDX-License-Identifier: Apache-2.0

// Package told follows a story as somebody does who has nothing but what it tells, and says where it contradicts itself.
// It shares no code with those who tell it.
package told
