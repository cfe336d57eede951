import packageFile from '../package.json' with { type: 'json' };

/** The reason that the check does not run on this version of Node, such as "20.20.2". Undefined if it does. */
export function reasonAgainstNode(version: string): string | undefined {
  const [lowest = '0'] = packageFile.engines.node.match(/[\d.]+/) ?? [];
  const isOlder = version.localeCompare(lowest, 'en', { numeric: true }) < 0;
  return isOlder ? `contract-check requires Node ${lowest} or later. This is Node ${version}.` : undefined;
}
