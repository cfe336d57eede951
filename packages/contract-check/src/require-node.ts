/** Imported before all modules that fail on older versions of Node in words that do not say why. */
import packageFile from '../package.json' with { type: 'json' };

const [lowest = '0'] = packageFile.engines.node.match(/[\d.]+/) ?? [];
const { node } = process.versions;
if (node.localeCompare(lowest, 'en', { numeric: true }) < 0)
  throw new Error(`contract-check requires Node ${lowest} or later. This is Node ${node}.`);
