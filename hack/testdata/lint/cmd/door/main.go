// SPDX-License-Identifier: Apache-2.0

// Door brings the clock and the context, so it may ask for both.
package main

import (
	"context"
	"time"
)

func main() {
	ctx, stop := context.WithDeadline(context.Background(), time.Now().Add(time.Second))
	defer stop()
	<-ctx.Done()
}
