// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"testing"

	distribution "github.com/distribution/reference"
)

// full spells a name as the reference implementation does, with the tag left out where there is a digest; false for what is
// no name of an image.
func full(name string) (string, bool) {
	named, err := distribution.ParseNormalizedNamed(name)
	if err != nil {
		return "", false
	}
	if digested, is := named.(distribution.Digested); is {
		return distribution.TrimNamed(named).String() + "@" + digested.Digest().String(), true
	}
	return distribution.TagNameOnly(named).String(), true
}

// FuzzSameImage: two names mean the same image exactly when the reference implementation of image names spells them alike.
func FuzzSameImage(f *testing.F) {
	f.Fuzz(func(t *testing.T, a, b string) {
		left, okLeft := full(a)
		right, okRight := full(b)
		if got := sameImage(a, b); got != sameImage(b, a) {
			t.Errorf("%q and %q are the same image: %v, and turned round not", a, b, got)
		}
		if !sameImage(a, a) {
			t.Errorf("%q is not the same image as itself", a)
		}
		if !okLeft || !okRight {
			return // nothing runs under such a name
		}
		if got := sameImage(a, b); got != (left == right) {
			t.Errorf("%q and %q are the same image: %v, but they are %s and %s", a, b, got, left, right)
		}
		if !sameImage(a, left) {
			t.Errorf("%q is not the same image as %s", a, left)
		}
	})
}
