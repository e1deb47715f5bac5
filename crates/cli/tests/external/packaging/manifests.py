"""Reads the manifests named as arguments, checks each against the schemas of several versions of Kubernetes, prints them as JSON."""

import json
import sys

import kubernetes_validate
import yaml

VERSIONS = ["1.29", "1.33", "1.37"]

manifests = {}
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        (manifest,) = yaml.safe_load_all(file)
    if not manifest["apiVersion"].startswith("kustomize."):
        for version in VERSIONS:
            kubernetes_validate.validate(manifest, version, strict=True)
    manifests[manifest["kind"]] = manifest
json.dump(manifests, sys.stdout)
