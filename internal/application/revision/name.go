// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// mark stands between the name of an application or component and the number of its revision.
	mark = "-v"
	// maxNumber is the highest number of a revision: with it, and the longest name of an application or component, the name of
	// a revision just fits into a label.
	maxNumber = 999_999_999
)

var errNumbersUsedUp = errors.New("the numbers are used up")

// Name returns the name of a revision of an application or of a component.
func Name(owner string, number int64) string { return fmt.Sprintf("%s%s%d", owner, mark, number) }

// Placeholder returns what context.revision says while it is not known yet whether a component has a new revision.
// Otherwise the name of the revision would be a change that needs another revision.
func Placeholder(component string) string { return Name(component, 0) }

// NumberOf returns the number in the name of a revision, and 0 when the name is not that of a revision of the owner.
func NumberOf(owner, name string) int64 {
	digits, ok := strings.CutPrefix(name, owner+mark)
	if !ok {
		return 0
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number < 1 || number > maxNumber || strconv.FormatInt(number, 10) != digits {
		return 0
	}
	return number
}

// nextFree returns the first number after the highest whose name is not taken.
func nextFree(owner string, highest int64, taken map[string]bool) (int64, error) {
	number := highest + 1
	for taken[Name(owner, number)] {
		number++
	}
	if number > maxNumber {
		return 0, fmt.Errorf("naming the next revision of %q: after %d, %w: delete the revision with it", owner, highest, errNumbersUsedUp)
	}
	return number, nil
}
