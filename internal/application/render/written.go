// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"strconv"
)

// writtenAt is what a user wrote at a path of the properties, as JSON.
func writtenAt(properties json.RawMessage, path []string) (string, bool) {
	var v any
	if json.Unmarshal(properties, &v) != nil {
		return "", false
	}
	for _, name := range path {
		switch at := v.(type) {
		case map[string]any:
			next, has := at[name]
			if !has {
				return "", false
			}
			v = next
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(at) {
				return "", false
			}
			v = at[n]
		default:
			return "", false
		}
	}
	raw, err := json.Marshal(v)
	return shorten(string(raw)), err == nil
}
