// SPDX-License-Identifier: Apache-2.0

package ordinal

import (
	"strconv"
	"strings"
)

// Name is the name of the pod with an ordinal.
func Name(set string, n int) string { return set + "-" + strconv.Itoa(n) }

// Of is the ordinal of a pod, by its name. It returns false for a name that Name never gives: of another set, or
// with an ordinal that is not plain decimal, such as web-01.
func Of(set, name string) (int, bool) {
	if len(name) < len(set)+2 || name[:len(set)] != set {
		return 0, false
	}
	n, err := strconv.Atoi(name[len(set)+1:])
	if err != nil || n < 0 || name != Name(set, n) {
		return 0, false
	}
	return n, true
}

// SetOf is the set that a name like that of a pod with an ordinal speaks of. It returns false for every other name.
func SetOf(name string) (string, bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 {
		return "", false
	}
	_, is := Of(name[:dash], name)
	return name[:dash], is
}
