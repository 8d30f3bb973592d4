// An exported report: a file that has the page and its data in it, and asks nobody.

interface Data {
  run: string;
  documents: Record<string, unknown>;
}

function read(): Data | undefined {
  const data = document.getElementById("data");
  return data ? (JSON.parse(data.textContent ?? "") as Data) : undefined;
}

const data = read();

// The run that the file is of; nothing on a page that is served.
export const exportedRun: string | undefined = data?.run;

// The document that a path stands for; null where the file does not have it, nothing on a page that
// is served. The resolution of a series does not matter: the file has it once.
export function documentOf(path: string): unknown {
  if (!data) return undefined;
  return data.documents[path.replace(/&.*/, "")] ?? null;
}
