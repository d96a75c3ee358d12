/** The entries that changesets writes into each CHANGELOG.md: the texts of the changesets, without commits. */

const PACKAGES = 'https://github.com/spillway/spillway/blob/main/packages';

/** A changeset as one item of a list, which may contain paragraphs and lists. */
export async function getReleaseLine({ summary }) {
  const lines = summary.trim().split('\n');
  return `- ${lines.join('\n  ').replace(/ +$/gm, '')}`;
}

/** Links to the changelogs of updated dependencies. A first version has nothing to compare. */
export async function getDependencyReleaseLine(_changesets, updated) {
  const known = updated.filter(({ oldVersion }) => oldVersion !== '0.0.0');
  return known.map(({ name, newVersion }) => `- ${linkTo(name, newVersion)}`).join('\n');
}

function linkTo(name, version) {
  const folder = name.replace('@spillway/', '');
  return `Comes with [${name} ${version}](${PACKAGES}/${folder}/CHANGELOG.md).`;
}
