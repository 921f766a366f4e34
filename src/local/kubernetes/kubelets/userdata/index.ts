/** Reads a machine's user data as its image does. */
import { bottlerocket, isBottlerocket } from './bottlerocket.ts';
import type { KubeletConfig } from './config.ts';
import { hugePages } from './huge-pages.ts';
import { isMime, mimeParts } from './mime.ts';
import { isNodeConfig, NODE_CONFIG_TYPE, nodeConfig } from './node-config.ts';
import { anyScript, bootstrapScript, powershell } from './shell.ts';

export type { KubeletConfig } from './config.ts';

/**
 * Parses the kubelet configuration in decoded user data: AL2023 NodeConfig (alone or in MIME parts), Bottlerocket TOML,
 * AL2's bootstrap.sh, Windows' PowerShell, or any script with kubelet flags.
 *
 * @throws Error if the user data is malformed. Such a machine never joins.
 */
export function decodeUserData(text: string): KubeletConfig {
  const pages = hugePages(text);
  const config = kubeletSettings(text);
  return pages['2Mi'] + pages['1Gi'] === 0 ? config : { ...config, hugePages: pages };
}

function kubeletSettings(text: string): KubeletConfig {
  const parts = isMime(text) ? mimeParts(text) : [{ contentType: '', body: text }];
  const configs = parts.filter(({ contentType, body }) => contentType === NODE_CONFIG_TYPE || isNodeConfig(body));
  if (configs.length > 0) return nodeConfig(configs.map(({ body }) => body));
  if (parts.length === 1 && isBottlerocket(text)) return bottlerocket(text);
  for (const { body } of parts.toReversed()) {
    const known = bootstrapScript(body) ?? powershell(body);
    if (known) return known;
  }
  return anyScript(parts.map(({ body }) => body).join('\n'));
}
