// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"testing"
)

func TestAClusterThatDoesNotStartIsAnErrorAndLeavesNothing(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := openCluster(ctx, &options{}, t.TempDir(), round{room: 10}, io.Discard); err == nil || c != nil {
		t.Fatalf("opened %v, %v, want an error", c, err)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
