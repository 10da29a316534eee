// SPDX-License-Identifier: Apache-2.0

// Package application is the controller of Applications. It records what an application asks for as a revision, with everything
// rendered, and deploys revisions: all at once, or by an AppRollout for one component after the other.
//
// What a template makes of properties is known by render, what a revision is by revision, and what to do next by plan. The
// cluster is read live for what is deployed: that is little, and seldom.
package application
