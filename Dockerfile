# The manager alone, in an empty image. Build it where the base image can be had: docker build -t slipway-manager:<version> .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY internal internal
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /slipway-manager ./cmd/slipway-manager

FROM scratch
COPY --from=build /slipway-manager /slipway-manager
USER 65532:65532
ENTRYPOINT ["/slipway-manager"]
