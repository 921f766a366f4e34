/** What the metadata service of an EC2 instance says to processes that run on it. */

const DEFAULT_ENDPOINT = 'http://169.254.169.254';
/** Where there is no instance nothing may answer at all, and someone waits for an error. */
const ANSWER_MS = 1_000;
/** It becomes part of the names of hosts. */
const REGION = /^[a-z][a-z0-9-]{1,62}$/;

/** The region of the instance that this process runs on; undefined elsewhere. */
export async function instanceRegion(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string | undefined> {
  if (env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') return undefined;
  const endpoint = env.AWS_EC2_METADATA_SERVICE_ENDPOINT || DEFAULT_ENDPOINT;
  const ask = async (method: 'GET' | 'PUT', path: string, headers: Record<string, string>): Promise<string> => {
    const response = await fetch(new URL(path, endpoint), { method, headers, signal: AbortSignal.timeout(ANSWER_MS) });
    if (!response.ok) throw new Error(`instance metadata answers ${response.status}`);
    return (await response.text()).trim();
  };
  try {
    const token = await ask('PUT', '/latest/api/token', { 'x-aws-ec2-metadata-token-ttl-seconds': '60' });
    const region = await ask('GET', '/latest/meta-data/placement/region', { 'x-aws-ec2-metadata-token': token });
    return REGION.test(region) ? region : undefined;
  } catch {
    return undefined;
  }
}
