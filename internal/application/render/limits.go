// SPDX-License-Identifier: Apache-2.0

package render

import "strings"

// Limits of what is taken in and given out. They keep a revision within what the API server stores, and messages readable.
const (
	// MaxTemplate is how many bytes a template may have.
	MaxTemplate = 128 << 10
	// MaxPolicy is how many bytes a health policy or a custom status may have.
	MaxPolicy = 16 << 10
	// MaxProperties is how many bytes the properties of a component or a trait may have, as JSON.
	MaxProperties = 64 << 10
	// MaxResult is how many bytes all objects of a component may have together, as JSON.
	MaxResult = 512 << 10
	// MaxLive is how many bytes of live objects a health policy may be shown, as JSON.
	MaxLive = 512 << 10
	// MaxTraits is how many traits a component may have.
	MaxTraits = 50
	// MaxObjects is how many objects a component may have besides its workload.
	MaxObjects = 100

	maxDepth    = 100
	maxProblems = 10
	maxText     = 240
)

// allowedImports are the packages of CUE's library that compute and do nothing else: no file, no network, no command, no clock.
var allowedImports = []string{
	"crypto/md5", "crypto/sha1", "crypto/sha256", "encoding/base64", "encoding/hex", "encoding/json", "encoding/yaml",
	"list", "math", "net", "regexp", "strconv", "strings", "struct", "text/template", "time",
}

// AllowedImports tells which packages a template may import, for people.
func AllowedImports() string { return strings.Join(allowedImports, ", ") }
