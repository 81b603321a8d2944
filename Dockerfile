# Copyright The kueue-fleet Authors.
# SPDX-License-Identifier: Apache-2.0

# The content of "make image", for those who build with a container engine:
#   docker build --build-arg VERSION=$(cat VERSION) --build-arg REVISION=$(git rev-parse --short=12 HEAD) .
# The build wants the checkout with its .git folder.
ARG BUILDER=golang:1.26

FROM --platform=$BUILDPLATFORM ${BUILDER} AS content
ARG TARGETARCH
WORKDIR /src
COPY . .
RUN git config --global --add safe.directory /src \
 && make image-rootfs ARCH=${TARGETARCH} OUT=/content

FROM scratch
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="kueue-fleet" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=content /content/ /
ENV PATH=/ SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/manager"]
