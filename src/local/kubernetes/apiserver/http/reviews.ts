/** Kinds that are evaluated but not stored: access reviews and token requests. This server allows everything. */

import { randomUUID } from 'node:crypto';
import { timestamp } from '#lib';
import { at, type Json, list, record, text } from '../json.ts';

/** Identity of every client of this server. */
const USER = { username: 'admin', uid: 'admin', groups: ['system:masters', 'system:authenticated'] };

/** Responses by group, version and plural. */
export const REVIEWS: Readonly<Record<string, { kind: string; namespaced?: boolean; answer(body: Json): Json }>> = {
  'authentication.k8s.io/v1/tokenreviews': {
    kind: 'TokenReview',
    answer: (body) => ({
      ...body,
      status: { authenticated: true, user: USER, audiences: list(at(body, 'spec', 'audiences')) },
    }),
  },
  'authentication.k8s.io/v1/selfsubjectreviews': {
    kind: 'SelfSubjectReview',
    answer: (body) => ({ ...body, status: { userInfo: USER } }),
  },
  'authorization.k8s.io/v1/selfsubjectaccessreviews': { kind: 'SelfSubjectAccessReview', answer: allow },
  'authorization.k8s.io/v1/subjectaccessreviews': { kind: 'SubjectAccessReview', answer: allow },
  'authorization.k8s.io/v1/localsubjectaccessreviews': {
    kind: 'LocalSubjectAccessReview',
    namespaced: true,
    answer: allow,
  },
  'authorization.k8s.io/v1/selfsubjectrulesreviews': {
    kind: 'SelfSubjectRulesReview',
    answer: (body) => ({
      ...body,
      status: {
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        incomplete: false,
      },
    }),
  },
};

function allow(body: Json): Json {
  return { metadata: {}, ...body, status: { allowed: true } };
}

/**
 * Returns the response to a TokenRequest for a service account. The token is opaque, because this server does not check
 * tokens.
 */
export function tokenRequest(body: Json, namespace: string, name: string, nowMs: number): Json {
  const seconds = Number(at(body, 'spec', 'expirationSeconds') ?? 3600);
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, creationTimestamp: timestamp(nowMs) },
    spec: { audiences: ['https://kubernetes.default.svc'], ...record(body.spec), expirationSeconds: seconds },
    status: {
      token: `local.${Buffer.from(`${namespace}:${text(name)}`).toString('base64url')}.${randomUUID()}`,
      expirationTimestamp: timestamp(nowMs + seconds * 1000),
    },
  };
}
