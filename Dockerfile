# The image of a Dabba server: one static binary, no shell, not root.
#
#   docker build -t dabba .
#   docker run --read-only -p 127.0.0.1:8080:8080 -v dabba:/data -e DABBA_INSECURE=true dabba
#
# Inside a container the server has to listen beyond the loopback address. It refuses to do so without knowing whom to
# let in: give it keys (DABBA_AUTH_KEYS, DABBA_AUTH_KEYS_INLINE or DABBA_JWKS_URL), or say with DABBA_INSECURE=true that
# whoever can reach it may do everything, and publish the port on 127.0.0.1 only, as above.

# Both may be replaced by images of your own: GO_IMAGE needs Go and a shell, BASE_IMAGE nothing but CA certificates, and
# those only for --jwks-url.
ARG GO_IMAGE=golang:1.26
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# VERSION is what dabba version says; empty means what Go finds in the sources.
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.released=${VERSION}" -o /out/dabba ./cmd/dabba \
 && mkdir -m 0750 /out/data

FROM ${BASE_IMAGE}
COPY --from=build /out/dabba /usr/bin/dabba
# A new volume takes over the owner of this folder.
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
ENV DABBA_ADDR=0.0.0.0:8080 \
    DABBA_DATA=/data
EXPOSE 8080
VOLUME /data
# Ready means that it can store messages. The check has no shell to run in, and needs none.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/usr/bin/dabba", "health"]
ENTRYPOINT ["/usr/bin/dabba"]
CMD ["serve"]
