"""The value that may cross a process or a release.

Histories and stores outlive releases, so a contract only ever grows: add
optional fields with defaults, never rename or retype one.
"""

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """An immutable value recorded in a workflow history or in the store.

    Unknown fields are ignored: a newer worker may have written them.  A default
    is not written, which keeps histories short and lets a default be added.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")
