// SPDX-License-Identifier: Apache-2.0

package told

import (
	"fmt"

	"slipway.dev/slipway/internal/story"
)

// Follow goes through a story of pods that are all available at the beginning. Each pod that is touched is out of service
// until the moment is over, or longer, when the next moment begins before it has been ready for long enough: that is seen by
// fewer pods being available at the end of the moment. It fails where a pod is not there or there twice, where the counts of a
// moment are others than follow from what is told, and where fewer pods are available than the story states as the least.
func Follow(s story.Story, pods []string) error {
	there := map[string]bool{}
	for _, name := range pods {
		there[name] = true
	}
	least, order, late := len(there), 0, 0 // late are pods that were touched and are not available yet
	for i, m := range s.Moments {
		out := map[string]bool{}
		for _, a := range m.Actions {
			if a.Order == 0 {
				continue
			}
			if order++; a.Order != order {
				return fmt.Errorf("moment %d: action %d comes after %d", i+1, a.Order, order-1)
			}
			if there[a.Object] == (a.Verb == story.Create) {
				return fmt.Errorf("moment %d: %s %s, and it is there: %t", i+1, a.Verb, a.Object, there[a.Object])
			}
			switch a.Verb {
			case story.Create, story.InPlace:
				there[a.Object], out[a.Object] = true, true
			case story.Recreate, story.Delete:
				delete(there, a.Object)
			default:
				return fmt.Errorf("moment %d: nobody knows how to %s", i+1, a.Verb)
			}
		}
		all, fewest := len(there), max(0, len(there)-len(out)-late)
		if m.During.Total != all || m.During.Available > all-len(out) || m.During.Available < fewest {
			return fmt.Errorf("moment %d: it tells of %+v, and what it does leaves %d to %d of %d available", i+1, m.During, fewest, all-len(out), all)
		}
		if m.After.Total != all || m.After.Available > all || m.After.Available < m.During.Available {
			return fmt.Errorf("moment %d: it ends with %+v, and there are %d", i+1, m.After, all)
		}
		late = all - m.After.Available
		least = min(least, m.During.Available)
	}
	if s.Least != least {
		return fmt.Errorf("at least %d pods are available, and it states %d", least, s.Least)
	}
	if want := (story.Count{Available: len(there), Total: len(there)}); s.End != want {
		return fmt.Errorf("in the end there are %+v, and it states %+v", want, s.End)
	}
	return nil
}

// Pods are the names of the pods that the first moment which touches any touches, with what is done to each.
func Pods(s story.Story) (did []string) {
	for _, m := range s.Moments {
		for _, a := range m.Actions {
			if a.Order > 0 {
				did = append(did, fmt.Sprintf("%s %s", a.Verb, a.Object))
			}
		}
		if len(did) > 0 {
			return did
		}
	}
	return nil
}
