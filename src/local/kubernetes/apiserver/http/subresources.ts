/** Requests on subresources other than status. */
import { own } from '../../../../lib/own.ts';
import { at, clone, record } from '../json.ts';
import { bind } from '../operations/binding.ts';
import { evict } from '../operations/eviction.ts';
import { applyAnyPatch, parsePatch, patchType } from '../operations/patch.ts';
import { patchableScale, readScale, writeScale } from '../operations/scale.ts';
import { commit, read, type Target } from '../operations/update.ts';
import { ANY } from '../resources/shape.ts';
import { badRequest, methodNotAllowed, notFound, StatusError, success, unknownPath } from '../status.ts';
import { type Call, send } from './call.ts';
import { parseBody } from './media.ts';
import { answer, deleteOptions, serveObject, writeOptions } from './objects.ts';
import { tokenRequest } from './reviews.ts';

type Handler = (call: Call, target: Target) => undefined;

const bodyOf = (call: Call): unknown => parseBody(call.body, call.request.headers['content-type']);

const serveEviction: Handler = (call, target) => {
  if (call.method !== 'POST') throw methodNotAllowed();
  const body = bodyOf(call);
  const name = at(body, 'metadata', 'name');
  if (name !== undefined && name !== '' && name !== target.name)
    throw badRequest('name in URL does not match name in Eviction object');
  evict(call.core, target, deleteOptions(at(body, 'deleteOptions'), call.query));
  send(call, success(undefined, 201), 201);
};

const serveBinding: Handler = (call, target) => {
  if (call.method !== 'POST') throw methodNotAllowed();
  bind(call.core, target, bodyOf(call), call.query.get('dryRun') === 'All');
  send(call, success(undefined, 201), 201);
};

const serveScale: Handler = (call, target) => {
  const { core, method } = call;
  if (method === 'GET') return send(call, readScale(core, target));
  if (method === 'PUT') return send(call, writeScale(core, target, bodyOf(call), writeOptions(call)));
  if (method !== 'PATCH') throw methodNotAllowed();
  const type = patchType(call.request.headers['content-type'] ?? '', target.resource);
  const scale = applyAnyPatch(type, patchableScale(core, target), parsePatch(type, call.body.toString()), ANY);
  return send(call, writeScale(core, target, scale, writeOptions(call)));
};

const serveToken: Handler = (call, target) => {
  read(call.core, target);
  const token = tokenRequest(record(bodyOf(call)), target.namespace ?? '', target.name, call.core.clock.now());
  send(call, token, 201);
};

/** Replaces the finalizers of a namespace. Its deletion ends with such a request. */
const serveFinalize: Handler = (call, target) => {
  const entry = read(call.core, target);
  const next = clone(entry.object);
  next.spec = { ...record(next.spec), finalizers: at(bodyOf(call), 'spec', 'finalizers') ?? [] };
  answer(call, target.resource, commit(call.core, target.resource, entry, next));
};

const refuse =
  (what: string): Handler =>
  (call, target) => {
    read(call.core, target);
    throw new StatusError(
      400,
      'BadRequest',
      `${what} of pod ${JSON.stringify(target.name)} is not available: the local cluster does not run container processes`,
    );
  };

const HANDLERS: Readonly<Record<string, Handler>> = {
  status: (call, target) => serveObject(call, target, 'status'),
  scale: serveScale,
  eviction: serveEviction,
  binding: serveBinding,
  token: serveToken,
  finalize: serveFinalize,
  log: refuse('The log'),
  exec: refuse('A command'),
  attach: refuse('The terminal'),
  portforward: refuse('A port'),
};

/** @throws StatusError 404 if the resource does not have this subresource */
export function serveSubresource(call: Call, target: Target, name: string): undefined {
  const { resource } = target;
  const has =
    (name === 'status' && resource.status) ||
    (name === 'scale' && resource.scale) ||
    Object.hasOwn(resource.subresources, name);
  const handler = own(HANDLERS, name);
  if (!has || !handler) throw resource.model === undefined ? notFound(resource, target.name) : unknownPath();
  handler(call, target);
}
