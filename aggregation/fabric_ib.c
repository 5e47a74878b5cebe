/* SPDX-License-Identifier: BSD-3-Clause */
/* InfiniBand fabrics: recorded ones and the one this host is on, both through libibnetdisc; own adapter by libibumad.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/ibnetdisc.h>
#include <infiniband/umad.h>

#include "aggregation/fabric.h"
#include "aggregation/fabric_text.h"
#include "util/log.h"

/* GUIDs and their vertices, sorted by GUID, to find the far end of a cable. */
typedef struct numbered {
    uint64_t guid;
    uint32_t vertex;
} numbered_t;

typedef struct import {
    themis_aggregation_draft_t draft;
    numbered_t *number;
    themis_status_t status;
} import_t;

static int numbered_compare(const void *a, const void *b)
{
    const numbered_t *x = a, *y = b;

    return (x->guid > y->guid) - (x->guid < y->guid);
}

static void import_node(ibnd_node_t *node, void *arg)
{
    import_t *import = arg;
    themis_aggregation_vertex_t vertex = {.guid = node->guid, .is_switch = node->type == IB_NODE_SWITCH};

    snprintf(vertex.name, sizeof vertex.name, "%.63s", node->nodedesc);
    if (import->status == THEMIS_OK)
        import->status = themis_aggregation_draft_vertex(&import->draft, &vertex);
}

static uint32_t import_number(const import_t *import, uint64_t guid)
{
    numbered_t key = {.guid = guid};
    const numbered_t *found =
        bsearch(&key, import->number, import->draft.vertices, sizeof *import->number, numbered_compare);

    return found ? found->vertex : UINT32_MAX;
}

/* Each cable is seen from both ends; the end with the lower number adds it. */
static void import_cables(ibnd_node_t *node, void *arg)
{
    import_t *import = arg;
    uint32_t own = import_number(import, node->guid);

    for (int p = 1; p <= node->numports && import->status == THEMIS_OK; p++) {
        ibnd_port_t *port = node->ports[p];
        uint32_t peer;

        if (!port || !port->remoteport || !port->remoteport->node)
            continue;
        peer = import_number(import, port->remoteport->node->guid);
        if (peer != UINT32_MAX && own < peer)
            import->status = themis_aggregation_draft_link(&import->draft, own, peer);
    }
}

static themis_status_t import_index(import_t *import)
{
    import->number = malloc(((size_t)import->draft.vertices + 1) * sizeof *import->number);
    if (!import->number)
        return THEMIS_NO_MEMORY;
    for (uint32_t v = 0; v < import->draft.vertices; v++)
        import->number[v] = (numbered_t){import->draft.vertex[v].guid, v};
    qsort(import->number, import->draft.vertices, sizeof *import->number, numbered_compare);
    return THEMIS_OK;
}

static themis_status_t fabric_import(ibnd_fabric_t *source, themis_aggregation_fabric_t **fabric)
{
    import_t import = {.status = THEMIS_OK};

    ibnd_iter_nodes(source, import_node, &import);
    if (import.status == THEMIS_OK)
        import.status = import_index(&import);
    if (import.status == THEMIS_OK)
        ibnd_iter_nodes(source, import_cables, &import);
    free(import.number);
    return themis_aggregation_draft_finish(&import.draft, import.status, fabric);
}

/* A fabric recorded by ibnd_cache_fabric is binary: its first kilobyte has null bytes. */
static themis_status_t is_text(const char *path, bool *text)
{
    FILE *file = fopen(path, "rb");
    char bytes[1024];
    size_t read;

    if (!file) {
        themis_error("%s: no such file for a fabric", path);
        return THEMIS_NO_ENTRY;
    }
    read = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    *text = memchr(bytes, '\0', read) == NULL;
    return THEMIS_OK;
}

themis_status_t themis_aggregation_fabric_load(const char *path, themis_aggregation_fabric_t **fabric)
{
    ibnd_fabric_t *source;
    bool text;
    themis_status_t status = is_text(path, &text);

    if (status != THEMIS_OK)
        return status;
    if (text)
        return themis_aggregation_fabric_text_load(path, fabric);
    source = ibnd_load_fabric(path, 0);
    if (!source) {
        themis_error("%s: neither recorded by ibnetdiscover nor text", path);
        return THEMIS_PARSE;
    }
    status = fabric_import(source, fabric);
    ibnd_destroy_fabric(source);
    return status;
}

themis_status_t themis_aggregation_adapter_guid(uint64_t *guid)
{
    char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
    int count;

    if (umad_init() < 0)
        return THEMIS_NO_ENTRY;
    count = umad_get_cas_names(names, UMAD_MAX_DEVICES);
    for (int i = 0; i < count; i++) {
        umad_ca_t ca;

        if (umad_get_ca(names[i], &ca) < 0)
            continue;
        *guid = be64toh(ca.node_guid);
        umad_release_ca(&ca);
        return THEMIS_OK;
    }
    return THEMIS_NO_ENTRY;
}

themis_status_t themis_aggregation_fabric_discover(themis_aggregation_fabric_t **fabric)
{
    ibnd_config_t config = {0};
    ibnd_fabric_t *source;
    themis_status_t status;
    uint64_t guid;
    int port;

    /* libibnetdisc writes to standard error where there is no adapter, or where this user may not use it */
    if (themis_aggregation_adapter_guid(&guid) != THEMIS_OK)
        return THEMIS_NO_ENTRY;
    port = umad_open_port(NULL, 0);
    if (port < 0) {
        themis_info(
            "InfiniBand: no permission to open the port for management datagrams; the fabric is not discovered");
        return THEMIS_NO_ENTRY;
    }
    umad_close_port(port);
    source = ibnd_discover_fabric(NULL, 0, NULL, &config);
    if (!source) {
        themis_info("InfiniBand: discovery of the fabric failed");
        return THEMIS_NO_ENTRY;
    }
    status = fabric_import(source, fabric);
    ibnd_destroy_fabric(source);
    return status;
}
