// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"slipway.dev/slipway/test/ground"
)

// ahead is the program whose wall clock is a minute ahead: the very manager, built with a standard library whose clock
// says so. So everything in it is wrong by the same minute, as on a machine whose clock is, and nothing in it knows.
// Its file has the same name, which is in the user agents of leader election.
const ahead = "ahead/slipway-manager"

// clockReads is where the standard library takes the wall clock; the time since a moment before goes by another clock.
const clockReads = "\tsec, nsec, mono := runtimeNow()\n"

func (p *plane) buildAhead(ctx context.Context) error {
	output, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("asking where Go is: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(output)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return fmt.Errorf("reading the clock's source: %w", err)
	}
	if !strings.Contains(string(source), clockReads) {
		return errors.New("this version of Go reads the clock in another way: look at time.Now, and change clockReads")
	}
	changed := filepath.Join(p.program(""), "time.go")
	if err := os.WriteFile(changed, []byte(strings.ReplaceAll(string(source), clockReads, clockReads+"\tsec += 60\n")), 0o600); err != nil {
		return fmt.Errorf("writing another clock: %w", err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return fmt.Errorf("encoding what is replaced: %w", err)
	}
	path := filepath.Join(p.program(""), "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		return fmt.Errorf("writing what is replaced: %w", err)
	}
	return ground.Build(ctx, p.repository, filepath.Dir(p.program(ahead))+"/", "-overlay="+path, "./cmd/slipway-manager")
}
