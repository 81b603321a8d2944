// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"testing"
	"time"
)

func TestServerCertificateIsGoodForItsNamesAndNoOther(t *testing.T) {
	now := time.Now()
	ca, err := NewCA("kueue-ca", "kueue", now)
	if err != nil {
		t.Fatal(err)
	}
	server, err := ca.Server(now, []string{"a.b.svc", "localhost"}, net.IPv4(127, 0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	cert := parse(t, server.CertPEM)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertPEM)
	cases := map[string]struct {
		name   string
		at     time.Time
		wantOK bool
	}{
		"its first name":          {name: "a.b.svc", at: now, wantOK: true},
		"its second name":         {name: "localhost", at: now, wantOK: true},
		"its address":             {name: "127.0.0.1", at: now, wantOK: true},
		"another name":            {name: "b.b.svc", at: now},
		"for longer than renewal": {name: "localhost", at: now.AddDate(1, 0, 0), wantOK: true},
		"not for ever":            {name: "localhost", at: now.AddDate(11, 0, 0)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: tc.name, CurrentTime: tc.at})
			if (err == nil) != tc.wantOK {
				t.Errorf("verify gave %v, want ok %v", err, tc.wantOK)
			}
		})
	}
	if _, err := ca.Server(now, nil); err == nil {
		t.Error("a certificate without a name was made")
	}
}

func TestCALooksAsTheRotationWants(t *testing.T) {
	ca, err := NewCA("kueue-ca", "kueue", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(ca.KeyPEM)
	if block == nil || block.Type != "RSA PRIVATE KEY" {
		t.Fatalf("the key is not PKCS#1: %v", block)
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
		t.Error(err)
	}
	cert := parse(t, ca.CertPEM)
	if cert.Subject.CommonName != "kueue-ca" || len(cert.DNSNames) != 1 || cert.DNSNames[0] != "kueue-ca" || !cert.IsCA {
		t.Errorf("got CN %q, names %v, CA %v", cert.Subject.CommonName, cert.DNSNames, cert.IsCA)
	}
}

func TestSigningKeyPartsBelongTogether(t *testing.T) {
	private, public, err := SigningKey()
	if err != nil {
		t.Fatal(err)
	}
	privateBlock, _ := pem.Decode(private)
	publicBlock, _ := pem.Decode(public)
	if privateBlock == nil || publicBlock == nil {
		t.Fatal("the keys are not PEM")
	}
	key, err := x509.ParsePKCS1PrivateKey(privateBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x509.ParsePKIXPublicKey(publicBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if !key.PublicKey.Equal(got) {
		t.Error("the public key is of another private key")
	}
}

func TestTokensDiffer(t *testing.T) {
	if a, b := Token(), Token(); a == b || len(a) != 32 {
		t.Errorf("got %q and %q", a, b)
	}
}

func parse(t *testing.T, certPEM []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(certPEM)
	if block == nil {
		t.Fatal("the certificate is not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
