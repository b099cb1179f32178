"""A gRPC server with the part of Qdrant's interface that Annals uses.

Behind it is Qdrant's own engine, from the package qdrant-edge-py: storage, filters, payload indexes, scores, conditional
writes and facets are the real ones. This file translates requests and adds what belongs to the server and not to the
engine: collections, aliases, and strict mode. It refuses what Annals must never ask for, such as a write that does not
wait.

Usage: server.py ADDRESS FOLDER [KEY]. It prints the address it listens on, keeps everything in the folder, answers those
who know the key, and ends when its standard input does.
"""

import importlib.util
import json
import os
import shutil
import sys
import threading
import types
from concurrent import futures

import grpc
import qdrant_edge as edge

# The generated messages come with qdrant-client. Its own modules and what they need are not wanted.
client = types.ModuleType("qdrant_client")
client.__path__ = list(importlib.util.find_spec("qdrant_client").submodule_search_locations)
sys.modules["qdrant_client"] = client
from qdrant_client import grpc as pb  # noqa: E402

VERSION = "1.19.0"
NOT_FOUND, INVALID = grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def optional(message, field):
    return getattr(message, field) if message.HasField(field) else None


# Values and points.


def from_value(v):
    kind = v.WhichOneof("kind")
    if kind == "list_value":
        return [from_value(x) for x in v.list_value.values]
    if kind == "struct_value":
        return {k: from_value(x) for k, x in v.struct_value.fields.items()}
    return None if kind == "null_value" else getattr(v, kind)


def to_value(x):
    if x is None:
        return pb.Value(null_value=0)
    if isinstance(x, bool):
        return pb.Value(bool_value=x)
    if isinstance(x, int):
        return pb.Value(integer_value=x)
    if isinstance(x, float):
        return pb.Value(double_value=x)
    if isinstance(x, str):
        return pb.Value(string_value=x)
    if isinstance(x, list):
        return pb.Value(list_value=pb.ListValue(values=[to_value(v) for v in x]))
    return pb.Value(struct_value=pb.Struct(fields={k: to_value(v) for k, v in x.items()}))


def from_id(i):
    return getattr(i, i.WhichOneof("point_id_options"))


def to_id(i):
    return pb.PointId(num=i) if isinstance(i, int) else pb.PointId(uuid=str(i))


def from_vector(v):
    kind = v.WhichOneof("variant" if isinstance(v, pb.VectorInput) else "vector")
    if kind == "dense":
        return list(v.dense.data)
    if kind == "sparse":
        if len(set(v.sparse.indices)) != len(v.sparse.indices):
            raise Refused(INVALID, "sparse indices must be unique")
        return edge.SparseVector(list(v.sparse.indices), list(v.sparse.values))
    raise Refused(INVALID, "unknown vector")


def to_vector(v):
    if isinstance(v, edge.SparseVector):
        return pb.VectorOutput(sparse=pb.SparseVector(indices=v.indices, values=v.values))
    return pb.VectorOutput(dense=pb.DenseVector(data=v))


def to_vectors(vectors):
    named = {name: to_vector(v) for name, v in (vectors or {}).items()}
    return pb.VectorsOutput(vectors=pb.NamedVectorsOutput(vectors=named))


def to_payload(payload):
    return {k: to_value(v) for k, v in (payload or {}).items()}


def with_payload(selector):
    kind = selector.WhichOneof("selector_options")
    if kind == "include":
        return edge.PayloadSelector.Include(list(selector.include.fields))
    return bool(kind) and selector.enable


def with_vectors(selector):
    kind = selector.WhichOneof("selector_options")
    if kind == "include":
        return list(selector.include.names)
    return bool(kind) and selector.enable


# Filters.


def from_match(m):
    kind = m.WhichOneof("match_value")
    if kind in ("keyword", "integer", "boolean"):
        return edge.MatchValue(getattr(m, kind))
    if kind == "keywords":
        return edge.MatchAny(list(m.keywords.strings))
    if kind == "integers":
        return edge.MatchAny(list(m.integers.integers))
    if kind == "except_keywords":
        return edge.MatchExcept(list(m.except_keywords.strings))
    if kind == "except_integers":
        return edge.MatchExcept(list(m.except_integers.integers))
    raise Refused(INVALID, "unknown match")


def from_condition(c):
    kind = c.WhichOneof("condition_one_of")
    if kind == "filter":
        return from_filter(c.filter)
    if kind == "has_id":
        return edge.HasIdCondition({from_id(i) for i in c.has_id.has_id})
    if kind == "has_vector":
        return edge.HasVectorCondition(c.has_vector.has_vector)
    if kind == "is_empty":
        return edge.IsEmptyCondition(c.is_empty.key)
    if kind == "nested":
        return edge.NestedCondition(c.nested.key, from_filter(c.nested.filter))
    if kind == "field":
        f = c.field
        if f.HasField("match"):
            return edge.FieldCondition(f.key, match=from_match(f.match))
        if f.HasField("range"):
            bounds = {b: optional(f.range, b) for b in ("gte", "gt", "lte", "lt")}
            return edge.FieldCondition(f.key, range=edge.RangeFloat(**bounds))
    raise Refused(INVALID, "unknown condition")


def from_filter(f):
    parts = {part: [from_condition(c) for c in getattr(f, part)] for part in ("must", "should", "must_not")}
    return edge.Filter(**{part: list_ or None for part, list_ in parts.items()})


def keys_of(f, prefix=""):
    """Yields the payload fields a filter reads."""
    for c in [*f.must, *f.should, *f.must_not]:
        kind = c.WhichOneof("condition_one_of")
        if kind == "field":
            yield prefix + c.field.key
        elif kind == "is_empty":
            yield prefix + c.is_empty.key
        elif kind == "filter":
            yield from keys_of(c.filter, prefix)
        elif kind == "nested":
            yield from keys_of(c.nested.filter, prefix + c.nested.key + "[].")


# Collections.


class Collection:
    """One collection, in a folder of its own: the engine's shard and what only the server knows."""

    def __init__(self, folder, config=None):
        self.folder = folder
        self.lock = threading.RLock()
        shard = os.path.join(folder, "shard")
        if config is not None:
            os.makedirs(shard)
            self.meta = {"config": config.SerializeToString().hex(), "dense": {}, "indexes": {}}
            sparse = {name: edge.EdgeSparseVectorParams() for name in config.sparse_vectors_config.map}
            self.shard = edge.EdgeShard.create(shard, edge.EdgeConfig(vectors={}, sparse_vectors=sparse))
            for name, p in config.vectors_config.params_map.map.items():
                self.add_dense(name, p.size, p.distance)
            self.save()
        else:
            with open(os.path.join(folder, "meta.json"), encoding="utf-8") as file:
                self.meta = json.load(file)
            self.shard = edge.EdgeShard.load(shard)
        self.config = pb.CreateCollection.FromString(bytes.fromhex(self.meta["config"]))

    def save(self):
        path = os.path.join(self.folder, "meta.json")
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            json.dump(self.meta, file)
        os.replace(path + ".tmp", path)

    def add_dense(self, name, size, distance):
        kinds = {pb.Dot: edge.Distance.Dot, pb.Cosine: edge.Distance.Cosine}
        self.shard.update(edge.UpdateOperation.create_dense_vector(name, size, kinds[distance]))
        self.meta["dense"][name] = {"size": size, "distance": distance}

    def strict(self, f, updates=False):
        """Refuses a filter that strict mode refuses."""
        mode = self.config.strict_mode_config
        if not mode.enabled:
            return
        allowed = optional(mode, "unindexed_filtering_update" if updates else "unindexed_filtering_retrieve")
        if allowed is False:
            for key in keys_of(f):
                if key not in self.meta["indexes"]:
                    raise Refused(INVALID, "Index required but not found")

    def limit(self, n):
        mode = self.config.strict_mode_config
        if mode.enabled and mode.HasField("max_query_limit") and n > mode.max_query_limit:
            raise Refused(INVALID, "Limit exceeded")
        return n

    def update(self, operation):
        with self.lock:
            self.shard.update(operation)


class Store:
    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.RLock()
        self.collections, self.aliases = {}, {}
        os.makedirs(folder, exist_ok=True)
        for name in sorted(os.listdir(folder)):
            if os.path.exists(os.path.join(folder, name, "meta.json")):
                self.collections[name] = Collection(os.path.join(folder, name))
        try:
            with open(os.path.join(folder, "aliases.json"), encoding="utf-8") as file:
                self.aliases = json.load(file)
        except FileNotFoundError:
            pass

    def save_aliases(self):
        path = os.path.join(self.folder, "aliases.json")
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            json.dump(self.aliases, file)
        os.replace(path + ".tmp", path)

    def get(self, name):
        with self.lock:
            c = self.collections.get(self.aliases.get(name, name))
        if c is None:
            raise Refused(NOT_FOUND, "Collection doesn't exist")
        return c


def rpc(method):
    """Turns what a method raises into a status."""

    def call(self, request, context):
        try:
            return method(self, request)
        except Refused as e:
            context.abort(e.code, str(e))
        except Exception as e:  # the engine's errors have no common class
            context.abort(INVALID, str(e))

    return call


def waits(request):
    if not request.wait:
        raise Refused(INVALID, "a write must wait")


def completed():
    return pb.PointsOperationResponse(result=pb.UpdateResult(operation_id=1, status=pb.Completed))


class Health(pb.QdrantServicer):
    @rpc
    def HealthCheck(self, _):
        return pb.HealthCheckReply(title="qdrant - vector search engine", version=VERSION)


class Collections(pb.CollectionsServicer):
    def __init__(self, store):
        self.store = store

    @rpc
    def Create(self, r):
        s = self.store
        with s.lock:
            if r.collection_name in s.collections or r.collection_name in s.aliases:
                raise Refused(grpc.StatusCode.ALREADY_EXISTS, "Collection already exists")
            s.collections[r.collection_name] = Collection(os.path.join(s.folder, r.collection_name), r)
        return pb.CollectionOperationResponse(result=True)

    @rpc
    def Delete(self, r):
        s = self.store
        with s.lock:
            c = s.collections.pop(r.collection_name, None)
            if c is None:
                return pb.CollectionOperationResponse(result=False)
            s.aliases = {a: t for a, t in s.aliases.items() if t != r.collection_name}
            s.save_aliases()
        with c.lock:
            c.shard.close()
            shutil.rmtree(c.folder)
        return pb.CollectionOperationResponse(result=True)

    @rpc
    def CollectionExists(self, r):
        s = self.store
        with s.lock:
            exists = s.aliases.get(r.collection_name, r.collection_name) in s.collections
        return pb.CollectionExistsResponse(result=pb.CollectionExists(exists=exists))

    @rpc
    def List(self, _):
        with self.store.lock:
            names = sorted(self.store.collections)
        return pb.ListCollectionsResponse(collections=[pb.CollectionDescription(name=n) for n in names])

    @rpc
    def Get(self, r):
        c = self.store.get(r.collection_name)
        with c.lock:
            dense = {n: pb.VectorParams(size=p["size"], distance=p["distance"]) for n, p in c.meta["dense"].items()}
            params = pb.CollectionParams(vectors_config=pb.VectorsConfig(params_map=pb.VectorParamsMap(map=dense)))
            params.sparse_vectors_config.CopyFrom(c.config.sparse_vectors_config)
            config = pb.CollectionConfig(
                params=params, optimizer_config=c.config.optimizers_config, strict_mode_config=c.config.strict_mode_config
            )
            schema = {k: pb.PayloadSchemaInfo(data_type=t) for k, t in c.meta["indexes"].items()}
            info = pb.CollectionInfo(status=pb.Green, config=config, payload_schema=schema)
        return pb.GetCollectionInfoResponse(result=info)

    @rpc
    def UpdateAliases(self, r):
        s = self.store
        with s.lock:
            for a in r.actions:
                if a.WhichOneof("action") != "create_alias":
                    raise Refused(INVALID, "an alias is only ever created")
                if a.create_alias.collection_name not in s.collections:
                    raise Refused(NOT_FOUND, "Collection doesn't exist")
                s.aliases[a.create_alias.alias_name] = a.create_alias.collection_name
            s.save_aliases()
        return pb.CollectionOperationResponse(result=True)

    @rpc
    def ListAliases(self, _):
        with self.store.lock:
            list_ = [pb.AliasDescription(alias_name=a, collection_name=t) for a, t in sorted(self.store.aliases.items())]
        return pb.ListAliasesResponse(aliases=list_)


class Points(pb.PointsServicer):
    def __init__(self, store):
        self.store = store

    @rpc
    def CreateFieldIndex(self, r):
        waits(r)
        c, p = self.store.get(r.collection_name), r.field_index_params
        if r.field_type == pb.FieldTypeKeyword:
            params = edge.KeywordIndexParams(is_tenant=optional(p.keyword_index_params, "is_tenant"))
        elif r.field_type == pb.FieldTypeInteger:
            i = p.integer_index_params
            params = edge.IntegerIndexParams(lookup=optional(i, "lookup"), range=optional(i, "range"))
        else:
            raise Refused(INVALID, "unknown field type")
        with c.lock:
            c.update(edge.UpdateOperation.create_field_index(r.field_name, params))
            kinds = {pb.FieldTypeKeyword: pb.Keyword, pb.FieldTypeInteger: pb.Integer}
            c.meta["indexes"][r.field_name] = kinds[r.field_type]
            c.save()
        return completed()

    @rpc
    def CreateVectorName(self, r):
        waits(r)
        c, d = self.store.get(r.collection_name), r.dense_config
        with c.lock:
            c.add_dense(r.vector_name, d.size, d.distance)
            c.save()
        return completed()

    @rpc
    def Upsert(self, r):
        waits(r)
        c = self.store.get(r.collection_name)
        mode = c.config.strict_mode_config
        if mode.enabled and mode.HasField("upsert_max_batchsize") and len(r.points) > mode.upsert_max_batchsize:
            raise Refused(INVALID, "Upsert limit exceeded")
        c.strict(r.update_filter, updates=True)
        points = []
        for p in r.points:
            vectors = {}
            for name, v in p.vectors.vectors.vectors.items():
                vectors[name] = from_vector(v)
                size = c.meta["dense"].get(name, {}).get("size")
                if isinstance(vectors[name], list) and size != len(vectors[name]):
                    raise Refused(INVALID, "Vector dimension error")
            points.append(edge.Point(from_id(p.id), vectors, {k: from_value(v) for k, v in p.payload.items()}))
        condition = from_filter(r.update_filter) if r.HasField("update_filter") else None
        c.update(edge.UpdateOperation.upsert_points(points, condition))
        return completed()

    @rpc
    def Delete(self, r):
        waits(r)
        c = self.store.get(r.collection_name)
        if r.points.WhichOneof("points_selector_one_of") == "filter":
            c.strict(r.points.filter, updates=True)
            c.update(edge.UpdateOperation.delete_points_by_filter(from_filter(r.points.filter)))
        else:
            c.update(edge.UpdateOperation.delete_points([from_id(i) for i in r.points.points.ids]))
        return completed()

    @rpc
    def Get(self, r):
        c = self.store.get(r.collection_name)
        found = c.shard.retrieve([from_id(i) for i in r.ids], with_payload(r.with_payload), with_vectors(r.with_vectors))
        return pb.GetResponse(result=[self.record(p) for p in found])

    @staticmethod
    def record(p):
        return pb.RetrievedPoint(id=to_id(p.id), payload=to_payload(p.payload), vectors=to_vectors(p.vector))

    @rpc
    def Scroll(self, r):
        c = self.store.get(r.collection_name)
        c.strict(r.filter)
        request = edge.ScrollRequest(
            offset=from_id(r.offset) if r.HasField("offset") else None,
            limit=c.limit(r.limit if r.HasField("limit") else 10),
            filter=from_filter(r.filter),
            with_payload=with_payload(r.with_payload),
            with_vector=with_vectors(r.with_vectors),
        )
        found, after = c.shard.scroll(request)
        after = None if after is None else to_id(after)
        return pb.ScrollResponse(result=[self.record(p) for p in found], next_page_offset=after)

    @rpc
    def Count(self, r):
        c = self.store.get(r.collection_name)
        c.strict(r.filter)
        n = c.shard.count(edge.CountRequest(filter=from_filter(r.filter), exact=r.exact))
        return pb.CountResponse(result=pb.CountResult(count=n))

    @rpc
    def Facet(self, r):
        c = self.store.get(r.collection_name)
        c.strict(r.filter)
        if r.key not in c.meta["indexes"]:
            raise Refused(INVALID, "Index required but not found")
        request = edge.FacetRequest(key=r.key, limit=c.limit(r.limit), exact=r.exact, filter=from_filter(r.filter))
        found = c.shard.facet(request).hits
        return pb.FacetResponse(
            hits=[pb.FacetHit(value=pb.FacetValue(integer_value=h.value), count=h.count) for h in found]
        )

    @rpc
    def Query(self, r):
        c = self.store.get(r.collection_name)
        c.strict(r.filter)
        vector = from_vector(r.query.nearest)
        if isinstance(vector, list):
            if not r.params.exact:
                raise Refused(INVALID, "a dense search must be exact")
            size = c.meta["dense"].get(r.using, {}).get("size")
            if size is None:
                raise Refused(INVALID, "Not existing vector name")
            if size != len(vector):
                raise Refused(INVALID, "Vector dimension error")
        request = edge.QueryRequest(
            query=edge.Query.Nearest(vector, r.using),
            filter=from_filter(r.filter),
            limit=c.limit(r.limit),
            params=edge.SearchParams(exact=r.params.exact),
            with_payload=with_payload(r.with_payload),
            with_vector=with_vectors(r.with_vectors),
        )
        found = c.shard.query(request)
        return pb.QueryResponse(
            result=[
                pb.ScoredPoint(id=to_id(p.id), score=p.score, payload=to_payload(p.payload), vectors=to_vectors(p.vector))
                for p in found
            ]
        )


class Guard(grpc.ServerInterceptor):
    def __init__(self, key):
        self.key = key
        refuse = grpc.StatusCode.UNAUTHENTICATED
        self.refusal = grpc.unary_unary_rpc_method_handler(lambda _, context: context.abort(refuse, "Must provide an API key"))

    def intercept_service(self, continuation, details):
        if ("api-key", self.key) not in [(m.key, m.value) for m in details.invocation_metadata]:
            return self.refusal
        return continuation(details)


def main():
    address, folder, *keys = sys.argv[1:]
    store = Store(folder)
    sizes = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 256 << 20)]
    options = [*sizes, ("grpc.so_reuseport", 0)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8), interceptors=[Guard(k) for k in keys], options=options)
    pb.add_QdrantServicer_to_server(Health(), server)
    pb.add_CollectionsServicer_to_server(Collections(store), server)
    pb.add_PointsServicer_to_server(Points(store), server)
    port = server.add_insecure_port(address)
    server.start()
    print(f"{address.rsplit(':', 1)[0]}:{port}", flush=True)
    sys.stdin.read()
    server.stop(grace=None)
    for c in store.collections.values():
        c.shard.close()


if __name__ == "__main__":
    main()
