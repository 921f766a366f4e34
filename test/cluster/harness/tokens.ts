/** Tokens of ServiceAccounts, by default of the chart's. */
import { createSign, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { KubeObject } from '#api/objects';
import type { KubeApi } from '../../support/kube-api.ts';
import type { ControlPlane } from './controlplane.ts';

const NAMESPACE = 'kube-system';
const NAME = 'karpenter';
const PATH = pathOf({ namespace: NAMESPACE, name: NAME });
/** Value of the API server's flag. */
const ISSUER = 'https://kubernetes.default.svc';
/** The API server accepts tokens for this time after their expiry. */
const LEEWAY_S = 60;

interface Account {
  readonly namespace: string;
  readonly name: string;
}

function pathOf({ namespace, name }: Account): string {
  return `/api/v1/namespaces/${namespace}/serviceaccounts/${name}`;
}

/** Requests a token from the TokenRequest API, as the kubelet does for a pod. */
export async function newToken(kube: KubeApi, expirationSeconds: number, account?: Account): Promise<string> {
  const path = account === undefined ? PATH : pathOf(account);
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds } };
  const answer = (await kube.raw('POST', `${path}/token`, request)) as { readonly status: { readonly token: string } };
  return answer.status.token;
}

const encoded = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** Signs a token with the API server's key, because the TokenRequest API issues no token for less than ten minutes. */
export async function shortToken({ client, serviceAccountKey }: ControlPlane, seconds: number): Promise<string> {
  const { metadata } = (await client.raw('GET', PATH)) as KubeObject;
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: ISSUER,
    aud: [ISSUER],
    sub: `system:serviceaccount:${NAMESPACE}:${NAME}`,
    iat: now - LEEWAY_S,
    nbf: now - LEEWAY_S,
    exp: now + seconds - LEEWAY_S,
    jti: randomUUID(),
    'kubernetes.io': { namespace: NAMESPACE, serviceaccount: { name: NAME, uid: metadata.uid } },
  };
  const text = `${encoded({ alg: 'RS256', typ: 'JWT' })}.${encoded(claims)}`;
  const signature = createSign('RSA-SHA256')
    .update(text)
    .sign(await readFile(serviceAccountKey, 'utf8'), 'base64url');
  return `${text}.${signature}`;
}
