// Finds the image of a run or of a call, which its profile or its template names.
#pragma once

#include <string>

#include "base/task.h"
#include "images/image_service.h"
#include "model/profile.h"
#include "templates/project_templates.h"

namespace glovebox::routing {

// Fills in profile.image_use; nothing if there is no image. Errors as ImageService::use. What is
// borrowed, and `profile`, outlive the call.
Task<> find_image(images::ImageService& images, const templates::ProjectTemplates& templates,
                  std::string project, std::string template_name, ProfileRequest& profile);

}  // namespace glovebox::routing
