#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""kubernetes.py SOURCE_DIR RSMD: the manifests of packaging/kubernetes are what their kinds ask for, refer to what is
there, agree with librsm's own defaults and with doc/kubernetes.md, and their rsm.conf is one that rsmd accepts."""
import os
import re
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("not run: there is no python3-yaml")
    sys.exit(77)

source, rsmd = sys.argv[1:3]
folder = os.path.join(source, "packaging", "kubernetes")
mistakes = []

# The fields of each kind that may be there, and "!" before those that must; deeper ones by their own names. From the
# published reference of the API, for the kinds and fields that are used here.
FIELDS = {
    "Namespace": "!apiVersion !kind !metadata",
    "ConfigMap": "!apiVersion !kind !metadata !data",
    "Service": "!apiVersion !kind !metadata !spec",
    "Service.spec": "clusterIP publishNotReadyAddresses !selector !ports",
    "Service.port": "name protocol !port targetPort",
    "DaemonSet": "!apiVersion !kind !metadata !spec",
    "DaemonSet.spec": "!selector updateStrategy !template minReadySeconds",
    "template": "!metadata !spec",
    "Pod": "!apiVersion !kind !metadata !spec",
    "Pod.spec": "!containers volumes hostNetwork dnsPolicy automountServiceAccountToken terminationGracePeriodSeconds"
                " restartPolicy",
    "container": "!name !image command ports resources securityContext readinessProbe volumeMounts",
    "container.port": "name protocol !containerPort",
    "securityContext": "runAsUser allowPrivilegeEscalation readOnlyRootFilesystem capabilities seccompProfile",
    "resources": "requests limits",
    "mount": "!name !mountPath subPath readOnly",
    "volume": "!name configMap secret hostPath",
    "metadata": "!name namespace labels",
}
VERSIONS = {"Namespace": "v1", "ConfigMap": "v1", "Service": "v1", "Pod": "v1", "DaemonSet": "apps/v1"}
HOST_PATHS = {"Directory", "DirectoryOrCreate"}


def wrong(where, what):
    mistakes.append("%s: %s" % (where, what))


def fields(where, kind, value):
    wanted = FIELDS[kind].split()
    known = {name.lstrip("!") for name in wanted}
    for name in value:
        if name not in known:
            wrong(where, "%s has no field %s" % (kind, name))
    for name in wanted:
        if name[0] == "!" and name[1:] not in value:
            wrong(where, "%s needs %s" % (kind, name[1:]))


def check_container(where, container, volumes):
    fields(where, "container", container)
    fields(where, "securityContext", container.get("securityContext", {}))
    fields(where, "resources", container.get("resources", {}))
    if container["securityContext"].get("allowPrivilegeEscalation") is not False:
        wrong(where, "privileges may be gained")
    if container["securityContext"]["capabilities"].get("drop") != ["ALL"]:
        wrong(where, "not all capabilities are dropped")
    for port in container.get("ports", []):
        fields(where, "container.port", port)
    for mount in container.get("volumeMounts", []):
        fields(where, "mount", mount)
        if mount["name"] not in volumes:
            wrong(where, "there is no volume %s" % mount["name"])


def check_pod(where, spec, documents, namespace):
    fields(where, "Pod.spec", spec)
    volumes = {}
    for volume in spec.get("volumes", []):
        fields(where, "volume", volume)
        volumes[volume["name"]] = volume
        if "hostPath" in volume and volume["hostPath"]["type"] not in HOST_PATHS:
            wrong(where, "no such type of a path: %s" % volume["hostPath"]["type"])
        if "configMap" in volume and ("ConfigMap", namespace, volume["configMap"]["name"]) not in documents:
            wrong(where, "there is no config map %s" % volume["configMap"]["name"])
        if "secret" in volume and ("secret generic %s " % volume["secret"]["secretName"]) not in page:
            wrong(where, "doc/kubernetes.md makes no secret %s" % volume["secret"]["secretName"])
    for container in spec["containers"]:
        check_container(where, container, volumes)
    mounted = {mount["name"] for container in spec["containers"] for mount in container.get("volumeMounts", [])}
    for name in set(volumes) - mounted:
        wrong(where, "the volume %s is mounted nowhere" % name)


def check(where, document, documents):
    kind = document.get("kind")
    if kind not in VERSIONS:
        return wrong(where, "no kind %s" % kind)
    fields(where, kind, document)
    fields(where, "metadata", document["metadata"])
    if document["apiVersion"] != VERSIONS[kind]:
        wrong(where, "%s is of %s" % (kind, VERSIONS[kind]))
    namespace = document["metadata"].get("namespace")
    if namespace and ("Namespace", None, namespace) not in documents:
        wrong(where, "there is no namespace %s" % namespace)
    if kind == "Service":
        fields(where, "Service.spec", document["spec"])
        for port in document["spec"]["ports"]:
            fields(where, "Service.port", port)
    if kind == "DaemonSet":
        fields(where, "DaemonSet.spec", document["spec"])
        fields(where, "template", document["spec"]["template"])
        if document["spec"]["selector"]["matchLabels"] != document["spec"]["template"]["metadata"]["labels"]:
            wrong(where, "the selector does not select the template's pods")
        check_pod(where, document["spec"]["template"]["spec"], documents, namespace)
    if kind == "Pod":
        check_pod(where, document["spec"], documents, namespace)


def check_members(documents):
    """The name that rsmd asks for is that of the service's port, which is the port at which rsmd listens."""
    service = documents[("Service", "rsm", "rsm")]
    pods = documents[("DaemonSet", "rsm", "rsmd")]["spec"]["template"]
    conf = documents[("ConfigMap", "rsm", "rsm-conf")]["data"]["rsm.conf"]
    port = service["spec"]["ports"][0]
    name = "_%s._%s.%s.%s.svc.cluster.local" % (port["name"], port["protocol"].lower(), service["metadata"]["name"],
                                                service["metadata"]["namespace"])
    if ("nodes = dns:%s\n" % name) not in conf:
        wrong("rsmd.yaml", "rsm.conf does not ask for %s" % name)
    with open(os.path.join(source, "rsmd", "conf", "address.h"), encoding="utf-8") as header:
        default = int(re.search(r"RSM_CLUSTER_PORT = (\d+)", header.read()).group(1))
    if port["port"] != default:
        wrong("rsmd.yaml", "rsmd listens at port %d" % default)
    if service["spec"]["selector"] != pods["metadata"]["labels"] or service["spec"]["clusterIP"] != "None":
        wrong("rsmd.yaml", "the service has no record for each pod")
    if pods["spec"].get("dnsPolicy") != "ClusterFirstWithHostNet" or pods["spec"].get("hostNetwork") is not True:
        wrong("rsmd.yaml", "pods with the host's network do not ask the cluster's DNS")
    for document in (pods["spec"], documents[("Pod", None, "rsm-program")]["spec"]):
        run = [volume["hostPath"]["path"] for volume in document["volumes"] if volume["name"] == "run"]
        if run != ["/run/rsm"]:
            wrong("kubernetes", "the runtime directory is %s" % run)
    # The cluster's DNS is not here, so the file is checked without its names.
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(re.sub("(?m)^nodes = .*$", "nodes = file", conf))
        file.flush()
        result = subprocess.run([rsmd, "--check", "--config", file.name], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        wrong("rsmd.yaml", "rsmd refuses rsm.conf: %s" % result.stderr)


with open(os.path.join(source, "doc", "kubernetes.md"), encoding="utf-8") as text:
    page = text.read()
documents = {}
for name in sorted(os.listdir(folder)):
    with open(os.path.join(folder, name), encoding="utf-8") as text:
        for document in yaml.safe_load_all(text):
            meta = document["metadata"]
            documents[(document["kind"], meta.get("namespace"), meta["name"])] = document
for key, document in documents.items():
    check("%s %s" % (key[0], key[2]), document, documents)
check_members(documents)
for mistake in mistakes:
    print(mistake)
sys.exit(1 if mistakes else 0)
