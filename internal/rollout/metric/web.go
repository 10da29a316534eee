// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"context"
	"encoding/json"
	"net/http"

	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/metric/document"
	"slipway.dev/slipway/internal/rollout/outbound"
)

func askWeb(ctx context.Context, client *outbound.Client, q Question) errand.Attempt[measure.Sample] {
	visit := q.visit()
	path, err := document.ParsePath(q.Query)
	if err != nil {
		return fault(visit.Clean(err.Error()))
	}
	answer, err := client.Call(ctx, visit, outbound.Request{Method: http.MethodGet, Header: http.Header{"Accept": {"application/json"}}})
	switch {
	case err != nil || answer.Status < 200 || answer.Status > 299:
		return unanswered(visit, answer.Trace, err, string(answer.Body))
	case answer.Incomplete != nil:
		return unanswered(visit, answer.Trace, answer.Incomplete, "")
	}
	var found any
	if err := json.Unmarshal(answer.Body, &found); err != nil {
		return fault("it answers something that is not JSON: " + visit.Clean(err.Error()))
	}
	sample := path.Sample(found)
	sample.Message = visit.Clean(sample.Message)
	return errand.Done(sample)
}
